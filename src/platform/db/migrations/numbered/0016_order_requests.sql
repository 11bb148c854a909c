-- An order whose request could not keep its answer: the body that came with the key, and what was given for the number's
-- registration ([{requirement, document, sealed}], sealed in base64), which begins with the delivery.
alter table number_orders add column request_digest bytea, add column answers jsonb not null default '[]';
