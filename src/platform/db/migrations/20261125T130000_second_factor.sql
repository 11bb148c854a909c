-- True: members without an authenticator app or a passkey have no rights in the account until they set one up.
alter table accounts add column second_factor_required boolean not null default false;

create function has_second_factor(person uuid) returns boolean language sql stable
as $$
  select exists (select from person_totp t where t.person_id = person and t.activated_at is not null)
    or exists (select from passkeys p where p.person_id = person)
$$;
