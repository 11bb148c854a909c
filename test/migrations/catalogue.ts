import type { Sql } from '../../src/platform/db/sql.ts'

/**
 * Everything that a schema is made of, as the catalogue describes it: one text for each object, and the columns of a
 * table in their order. Equal lists mean equal schemas. It works on every version, also where the installed `pg_dump`
 * is older than the server.
 */
export const describeSchema = async (sql: Sql): Promise<string[]> =>
  (
    await sql.raw<{ text: string }>(`
      with mine as (
        select c.* from pg_class c
        where c.relnamespace = current_schema()::regnamespace and c.relname not like 'schema\\_migrations%'
      )
      select concat_ws(' ', 'relation', c.relname, c.relkind, c.relpersistence, c.reloptions, c.relreplident,
        c.relrowsecurity) as text
      from mine c
      union all
      select concat_ws(' ', 'column', c.relname, row_number() over (partition by c.oid order by a.attnum), a.attname,
        format_type(a.atttypid, a.atttypmod), a.attnotnull, a.attidentity, a.attgenerated, a.attstorage,
        nullif(a.attstattarget, -1), a.attcollation::regcollation,
        array(select o from unnest(a.attoptions) o where o like 'n\\_distinct%'), pg_get_expr(d.adbin, d.adrelid))
      from mine c
      join pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
      left join pg_attrdef d on d.adrelid = c.oid and d.adnum = a.attnum
      where c.relkind in ('r', 'p', 'v', 'm')
      union all
      select concat_ws(' ', 'constraint', k.conname, c.relname, k.contype, k.convalidated, pg_get_constraintdef(k.oid))
      from mine c join pg_constraint k on k.conrelid = c.oid
      union all
      select concat_ws(' ', 'index', pg_get_indexdef(c.oid), x.indisvalid) from mine c join pg_index x on x.indexrelid = c.oid
      union all
      select concat_ws(' ', 'view', c.relname, pg_get_viewdef(c.oid)) from mine c where c.relkind in ('v', 'm')
      union all
      select concat_ws(' ', 'sequence', c.relname, s.seqtypid::regtype, s.seqstart, s.seqincrement, s.seqmax, s.seqmin,
        s.seqcache, s.seqcycle, (select concat_ws(' ', refobjid::regclass, refobjsubid, deptype) from pg_depend
          where objid = c.oid and classid = 'pg_class'::regclass and deptype in ('a', 'i')))
      from mine c join pg_sequence s on s.seqrelid = c.oid
      union all
      select concat_ws(' ', 'trigger', t.tgname, t.tgenabled, pg_get_triggerdef(t.oid))
      from mine c join pg_trigger t on t.tgrelid = c.oid where not t.tgisinternal
      union all
      select 'function ' || pg_get_functiondef(p.oid) from pg_proc p where p.pronamespace = current_schema()::regnamespace
      union all
      select concat_ws(' ', 'type', t.typname, t.typtype, t.typrelid::regclass, t.typelem::regtype)
      from pg_type t where t.typnamespace = current_schema()::regnamespace and t.typname not like '%schema\\_migrations'
      order by 1`)
  ).map(({ text }) => text)
