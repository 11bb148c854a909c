-- What a search looks at stands in the contact itself, so that one look brings it: the digits of its numbers and its e-mail
-- addresses, each after a space.
alter table contacts add column numbers text not null default '';
alter table contacts add column emails text not null default '';
update contacts c set
  numbers = (select coalesce(string_agg(substr(d.value, 2), ' ' order by d.id), '') from contact_details d
    where d.account_id = c.account_id and d.contact_id = c.id and d.type in ('PH', 'WAPH')),
  emails = (select coalesce(string_agg(d.value, ' ' order by d.id), '') from contact_details d
    where d.account_id = c.account_id and d.contact_id = c.id and d.type = 'E');

-- Hashes of an account have no common ones that would be worth counting.
alter table contacts alter column grams set statistics 0;

drop function contacts_by_grams;

-- Contacts that have all of one list of grams, and of each further list one or more: of the sample at most so many and, where
-- these are fewer, of all. Built as text, since a condition that is not there must not be in the plan. The settings are there
-- because the planner knows nothing of how rare a hash is. Materialized, so that it does not plan for the limit either.
create function contacts_found(
  account uuid, whole integer[], one integer[], two integer[], three integer[],
  sample_whole integer[], sample_one integer[], sample_two integer[], sample_three integer[], most integer)
returns table (id uuid, first_name text, last_name text, numbers text, emails text) language plpgsql stable
set enable_seqscan = off set jit = off set max_parallel_workers_per_gather = 0
as $$
declare
  found_ones integer;
  statement text :=
    'with found as materialized (select account_id, id, first_name, last_name, numbers, emails from contacts where '
    || concat_ws(' and ',
      case when cardinality(whole) > 0 then 'grams @> $2' end,
      case when cardinality(one) > 0 then 'grams && $3' end,
      case when cardinality(two) > 0 then 'grams && $4' end,
      case when cardinality(three) > 0 then 'grams && $5' end)
    || ') select id, first_name, last_name, numbers, emails from found where account_id = $1 limit $6';
begin
  return query execute statement using account, sample_whole, sample_one, sample_two, sample_three, most;
  get diagnostics found_ones = row_count;
  if found_ones < most then
    return query execute statement using account, whole, one, two, three, most;
  end if;
end $$;
