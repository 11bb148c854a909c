-- Under which peer a conversation goes on that was told under another one: clients have its session keys, and numbers.
create table msgapp_former_peers (
  account_id uuid not null,
  channel_id uuid not null,
  peer text not null,
  goes_on text not null,
  primary key (account_id, channel_id, peer)
);
create index msgapp_former_peers_by_goal on msgapp_former_peers (account_id, channel_id, goes_on);
