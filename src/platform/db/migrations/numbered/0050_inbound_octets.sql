-- Parts as they came: a character may be split between two of them, so a text is decoded once its parts are joined.
-- Null for parts that were kept before.
alter table sms_inbound_parts add column octets bytea, add column coding integer;
