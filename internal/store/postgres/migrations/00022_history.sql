-- +goose Up
-- Who has its row locked forgets what is old: one node at a time.
insert into meta (name, value) values ('historian', '');

-- What is only inserted lies in partitions by the time in its ids (UUIDv7), and is forgotten by dropping them. Whatever
-- there is, and the next week, is the first partition; "rest" has what no other one wants.
create table history_partition (upto bytea primary key, name text not null);

-- +goose StatementBegin
create function einmal_partition(tab text, key text, upto bytea) returns void language plpgsql as $$
declare
  i record;
begin
  execute format('alter table %I rename to %I', tab, tab || '_first');
  for i in select c.relname from pg_index x join pg_class c on c.oid = x.indexrelid where x.indrelid = (tab || '_first')::regclass loop
    execute format('alter index %I rename to %I', i.relname, i.relname || '_first');
  end loop;
  execute format('create table %I (like %I including defaults) partition by range (%I)', tab, tab || '_first', key);
  for i in select c.relname, c.relam, x.indisprimary, pg_get_indexdef(x.indexrelid) as def, pg_get_constraintdef(k.oid) as con
      from pg_index x join pg_class c on c.oid = x.indexrelid left join pg_constraint k on k.conindid = x.indexrelid and k.contype = 'p'
      where x.indrelid = (tab || '_first')::regclass loop
    if i.indisprimary then
      execute format('alter table %I add %s', tab, i.con);
    else
      execute regexp_replace(i.def, '^(CREATE (?:UNIQUE )?INDEX )(\S+)_first ON (\S+)_first USING', '\1\2 ON \3 USING');
    end if;
  end loop;
  execute format('create table %I partition of %I default', tab || '_rest', tab);
  -- Of a node whose clock was far ahead.
  execute format('with moved as (delete from %I where %I >= %L returning *) insert into %I select * from moved', tab || '_first', key, upto, tab || '_rest');
  execute format('alter table %I attach partition %I for values from (minvalue) to (%L)', tab, tab || '_first', upto);
end $$;
-- +goose StatementEnd

alter table receipt alter column seq drop identity;
create sequence receipt_seq owned by none;
select setval('receipt_seq', (select coalesce(max(seq), 0) + 1 from receipt), false);
alter table receipt alter column seq set default nextval('receipt_seq');

insert into history_partition (upto, name)
  select decode(lpad(to_hex((extract(epoch from date_trunc('day', clock_timestamp())) * 1000)::bigint + 8 * 86400000::bigint), 12, '0') || repeat('0', 20), 'hex'), 'first';
select einmal_partition('message', 'id', (select upto from history_partition));
select einmal_partition('event', 'message_id', (select upto from history_partition));
select einmal_partition('decision', 'id', (select upto from history_partition));
select einmal_partition('receipt', 'id', (select upto from history_partition));
drop function einmal_partition(text, text, bytea);

-- +goose Down
-- +goose StatementBegin
create function einmal_whole(tab text) returns void language plpgsql as $$
declare
  i record;
  defs text[] := '{}';
begin
  execute format('create table %I (like %I including defaults)', tab || '_whole', tab);
  execute format('insert into %I select * from %I', tab || '_whole', tab);
  for i in select x.indisprimary, pg_get_indexdef(x.indexrelid) as def, pg_get_constraintdef(k.oid) as con
      from pg_index x left join pg_constraint k on k.conindid = x.indexrelid and k.contype = 'p' where x.indrelid = tab::regclass loop
    defs := defs || case when i.indisprimary then format('alter table %I add %s', tab, i.con) else replace(i.def, ' ON ONLY ', ' ON ') end;
  end loop;
  execute format('drop table %I', tab);
  execute format('alter table %I rename to %I', tab || '_whole', tab);
  for n in 1 .. cardinality(defs) loop
    execute defs[n];
  end loop;
end $$;
-- +goose StatementEnd
select einmal_whole('message');
select einmal_whole('event');
select einmal_whole('decision');
select einmal_whole('receipt');
drop function einmal_whole(text);
alter table receipt alter column seq drop default;
drop sequence receipt_seq;
alter table receipt alter column seq add generated always as identity;
select setval(pg_get_serial_sequence('receipt', 'seq'), (select coalesce(max(seq), 0) + 1 from receipt), false);
drop table history_partition;
delete from meta where name = 'historian';
