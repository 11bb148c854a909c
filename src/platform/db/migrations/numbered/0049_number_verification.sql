-- What the carrier says of the numbers of an inbound call: how it verified the caller's (verstat), whether the portability database was
-- asked for the called one (npdi), and where that routes to (rn; RFC 4694).
alter table calls add column verstat text, add column npdi boolean not null default false, add column rn text;
