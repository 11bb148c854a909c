-- A person has one name in an account: that of the user, which the interface lists and changes. `persons.name` follows it,
-- unless the person belongs to several accounts: then it is the name outside of them.

create function full_name(first_name text, last_name text) returns text language sql immutable strict parallel safe
as $$
  select trim(first_name || ' ' || last_name)
$$;

-- Names that differed until now are joined. The audit trail keeps the former one.
with joined as (
  select u.account_id, p.id, p.name as former, full_name(u.first_name, u.last_name) as name
  from persons p
  cross join lateral (
    select * from users where person_id = p.id and status <> 'DELETED' order by created_at, id limit 1) u
  where full_name(u.first_name, u.last_name) not in (p.name, '')
    and not exists (
      select from users o where o.person_id = p.id and o.account_id <> u.account_id and o.status <> 'DELETED')
), noted as (
  insert into audit (account_id, id, actor_kind, actor_label, action, targets, changes)
  select account_id, gen_random_uuid(), 'system', 'system', 'changeMe', array['PRS' || id],
    jsonb_build_array(jsonb_build_object('field', 'name', 'before', former, 'after', name))
  from joined
)
update persons p set name = j.name, updated_at = clock_timestamp() from joined j where j.id = p.id;
