-- Whether the current role could change what is recorded, triggers aside.
SELECT has_table_privilege('events', 'INSERT'), has_table_privilege('events', 'SELECT'),
  has_table_privilege('events', 'UPDATE, DELETE, TRUNCATE')
