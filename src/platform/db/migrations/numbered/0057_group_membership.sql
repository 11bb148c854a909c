-- Members of a group were read from its network at least once: from then on a difference is a change. `membership` counts the
-- changes, so that a list which was read before one of them is not stored after it.
alter table msgapp_groups add column members_read boolean not null default false;
alter table msgapp_groups add column membership bigint not null default 0;
update msgapp_groups g set members_read = true
  where g.joined and exists (
    select from msgapp_group_members m
    where m.account_id = g.account_id and m.group_id = g.id and m.status_code = 200);

-- The groups of a channel were read at least once: a group that appears later was joined.
alter table msgapp_channels add column groups_read boolean not null default false;
update msgapp_channels c set groups_read = true where exists (select from msgapp_groups g where g.channel_id = c.id);
