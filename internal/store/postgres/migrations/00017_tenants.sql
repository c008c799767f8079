-- +goose Up
-- state: 1 active, 2 suspended. prepaid: 1 for tenants with a wallet. What was there before is the installation's own.
alter table tenant
  add column label text not null default '', add column state bigint not null default 1, add column prepaid bigint not null default 0,
  add column created_at bigint not null default 0, add column created_by text not null default '',
  add column state_at bigint not null default 0, add column state_by text not null default '', add column state_reason text not null default '';

-- kind: 1 live, 2 team, 3 test. expires_at 0: it does not end. user_id '': it is no person's.
alter table api_key
  add column kind bigint not null default 1, add column expires_at bigint not null default 0,
  add column created_by text not null default '', add column user_id bytea not null default '';
create index api_key_by_tenant on api_key (tenant, name);

-- role has scopes, as a key has. phone is E.164, or ''. state: 1 active, 2 suspended.
create table tenant_user (
  id bytea primary key, tenant bigint not null, login text not null, name text not null, phone text not null, role text not null,
  state bigint not null, created_at bigint not null, created_by text not null, unique (tenant, login)
);

-- Whom a team key may write to beside the tenant's users.
create table guest (
  id bytea primary key, tenant bigint not null, name text not null, phone text not null,
  created_at bigint not null, created_by text not null, unique (tenant, phone)
);

create table sender (
  tenant bigint not null, sender text not null, by_default bigint not null, created_at bigint not null, created_by text not null,
  primary key (tenant, sender)
);
create unique index sender_by_default on sender (tenant) where by_default = 1;

-- A number's row is what two that lease it at the same moment meet in. ends 0: the lease has no end yet.
create table number (e164 text primary key, created_at bigint not null);
create table lease (
  id bytea primary key, e164 text not null, tenant bigint not null, begins bigint not null, ends bigint not null,
  created_at bigint not null, created_by text not null
);
create index lease_by_number on lease (e164, begins);
create index lease_by_tenant on lease (tenant, created_at, id);

-- +goose Down
drop table lease;
drop table number;
drop table sender;
drop table guest;
drop table tenant_user;
drop index api_key_by_tenant;
alter table api_key drop column kind, drop column expires_at, drop column created_by, drop column user_id;
alter table tenant drop column label, drop column state, drop column prepaid, drop column created_at, drop column created_by,
  drop column state_at, drop column state_by, drop column state_reason;
