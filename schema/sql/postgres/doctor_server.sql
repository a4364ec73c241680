SELECT current_setting('server_version'), current_setting('fsync'), current_setting('synchronous_commit'),
  current_setting('full_page_writes'), current_user::text, current_database()::text
