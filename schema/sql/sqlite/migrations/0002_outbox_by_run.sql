-- A process that works on one run only publishes what that run has to say, and nothing of others.
-- COMMENT The run that the message is about; NULL when it is about none.
ALTER TABLE outbox_delivery_queue ADD COLUMN run TEXT;
