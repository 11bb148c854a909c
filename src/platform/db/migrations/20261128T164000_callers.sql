-- Inbound calls: the number that the carrier asserts of a caller who withholds it, for operators alone, and the number
-- that forwarded the call to ours.
alter table calls add column asserted_number text, add column diverted_from text;
