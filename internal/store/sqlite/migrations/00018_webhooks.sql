-- +goose Up
-- Where tenants are told of events. Secrets are sealed under a key of the endpoint's own, which is wrapped.
create table webhook (
  id blob primary key, tenant integer not null, url text not null, types text not null, enabled integer not null, version integer not null,
  own_key blob not null, secret blob not null, former blob not null, former_until integer not null,
  created_at integer not null, created_by text not null, changed_at integer not null, changed_by text not null, removed_at integer not null
) without rowid;
create index webhook_wanting on webhook (tenant, id) where enabled = 1;
create index webhook_by_tenant on webhook (tenant, created_at, id) where removed_at = 0;

-- An event that an endpoint is to be told of: made with the event's sequence, removed a while after it was delivered.
create table webhook_delivery (
  webhook_id blob not null, seq integer not null, tenant integer not null, message_id blob not null, n integer not null,
  state integer not null, fence integer not null, failures integer not null, next_at integer not null, done_at integer not null, status integer not null, problem text not null,
  primary key (webhook_id, seq)
) without rowid;
create index webhook_delivery_due on webhook_delivery (webhook_id, next_at, seq) where state < 3;
create index webhook_delivery_done on webhook_delivery (done_at, webhook_id, seq) where state = 3;
create index webhook_delivery_dead on webhook_delivery (webhook_id, seq) where state = 4;

-- +goose Down
drop table webhook_delivery;
drop table webhook;
