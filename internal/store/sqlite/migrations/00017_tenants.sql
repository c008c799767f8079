-- +goose Up
-- state: 1 active, 2 suspended. prepaid: 1 for tenants with a wallet. What was there before is the installation's own.
alter table tenant add column label text not null default '';
alter table tenant add column state integer not null default 1;
alter table tenant add column prepaid integer not null default 0;
alter table tenant add column created_at integer not null default 0;
alter table tenant add column created_by text not null default '';
alter table tenant add column state_at integer not null default 0;
alter table tenant add column state_by text not null default '';
alter table tenant add column state_reason text not null default '';

-- kind: 1 live, 2 team, 3 test. expires_at 0: it does not end. user_id '': it is no person's.
alter table api_key add column kind integer not null default 1;
alter table api_key add column expires_at integer not null default 0;
alter table api_key add column created_by text not null default '';
alter table api_key add column user_id blob not null default x'';
create index api_key_by_tenant on api_key (tenant, name);

-- role has scopes, as a key has. phone is E.164, or ''. state: 1 active, 2 suspended.
create table tenant_user (
  id blob primary key, tenant integer not null, login text not null, name text not null, phone text not null, role text not null,
  state integer not null, created_at integer not null, created_by text not null, unique (tenant, login)
);

-- Whom a team key may write to beside the tenant's users.
create table guest (
  id blob primary key, tenant integer not null, name text not null, phone text not null,
  created_at integer not null, created_by text not null, unique (tenant, phone)
);

create table sender (
  tenant integer not null, sender text not null, by_default integer not null, created_at integer not null, created_by text not null,
  primary key (tenant, sender)
);
create unique index sender_by_default on sender (tenant) where by_default = 1;

-- A number's row is what two that lease it at the same moment meet in. ends 0: the lease has no end yet.
create table number (e164 text primary key, created_at integer not null);
create table lease (
  id blob primary key, e164 text not null, tenant integer not null, begins integer not null, ends integer not null,
  created_at integer not null, created_by text not null
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
alter table api_key drop column kind;
alter table api_key drop column expires_at;
alter table api_key drop column created_by;
alter table api_key drop column user_id;
alter table tenant drop column label;
alter table tenant drop column state;
alter table tenant drop column prepaid;
alter table tenant drop column created_at;
alter table tenant drop column created_by;
alter table tenant drop column state_at;
alter table tenant drop column state_by;
alter table tenant drop column state_reason;
