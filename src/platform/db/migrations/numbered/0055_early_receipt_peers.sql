-- Who sent a receipt that came before its message was known: only the recipient's counts. Empty where the network does not tell.
alter table msgapp_early add column peer text not null default '';
alter table msgapp_early drop constraint msgapp_early_pkey, add primary key (channel_id, network_id, peer);
