-- The longest parts of a text that a name is searched for. A name that has these has the shorter ones too. The planner takes
-- parts for independent: with all of them it expected 181 accounts where 11,111 matched, and read and sorted those.
create function account_name_terms(part text) returns text[] language sql immutable strict parallel safe
set jit = off
as $$
  select coalesce(array_agg(distinct term), '{}')
  from generate_series(1, greatest(1, length(lower(part)) - 2)) i cross join lateral substr(lower(part), i, 3) term
  where term <> ''
$$;
