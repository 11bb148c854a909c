-- What a detail is, such as work or mobile, and what is dialled after a number. Null: nothing.
alter table contact_details add column label text, add column extension text;
