-- +goose Up
-- Where tenants are told of events. Secrets are sealed under a key of the endpoint's own, which is wrapped.
create table webhook (
  id bytea primary key, tenant bigint not null, url text not null, types text not null, enabled bigint not null, version bigint not null,
  own_key bytea not null, secret bytea not null, former bytea not null, former_until bigint not null,
  created_at bigint not null, created_by text not null, changed_at bigint not null, changed_by text not null, removed_at bigint not null
);
create index webhook_wanting on webhook (tenant, id) where enabled = 1;
create index webhook_by_tenant on webhook (tenant, created_at, id) where removed_at = 0;

-- An event that an endpoint is to be told of: made with the event's sequence, removed a while after it was delivered.
create table webhook_delivery (
  webhook_id bytea not null, seq bigint not null, tenant bigint not null, message_id bytea not null, n bigint not null,
  state bigint not null, fence bigint not null, failures bigint not null, next_at bigint not null, done_at bigint not null, status bigint not null, problem text not null,
  primary key (webhook_id, seq)
) with (fillfactor = 70);
create index webhook_delivery_due on webhook_delivery (webhook_id, next_at, seq) where state < 3;
create index webhook_delivery_done on webhook_delivery (done_at, webhook_id, seq) where state = 3;
create index webhook_delivery_dead on webhook_delivery (webhook_id, seq) where state = 4;

-- +goose Down
drop table webhook_delivery;
drop table webhook;
