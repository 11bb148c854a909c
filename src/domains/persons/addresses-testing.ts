import assert from 'node:assert/strict'
import { mailedLink } from '../../../test/mailed.ts'
import { acceptLink, callAs, cookieOf } from '../../../test/persons.ts'
import type { Answer, Tenant, World } from '../../../test/world.ts'

// Helpers of the tests of who has an e-mail address.

export const ownPassword = 'nine yellow kites fly'
export const squatterPassword = 'eleven quiet owls hunt'

let names = 0
export const newEmail = (name = 'person'): string => `${name}.${++names}@example.com`

export const outcome = ({ status, body }: Answer): string => `${status} ${body.error_code ?? ''}`.trim()

export const accountsOf = ({ body }: Answer): string[] => body.accounts.map(({ uuid }: { uuid: string }) => uuid)

/** Invites and signs in persons of a world. */
export const makeAddressBench = (world: Pick<World, 'app' | 'call' | 'db' | 'parts'>) => {
  const { db, call } = world

  /** Invites an address. @returns the link that is shown, or was mailed */
  const invite = async (tenant: Tenant, email: string, delivery: 'link' | 'mail') => {
    const body = { first_name: 'Vic', last_name: 'Tim', email, role: 'agent', delivery }
    const created = await call(tenant, 'POST', '/open/members', body)
    assert.equal(created.status, 201, JSON.stringify(created.body))
    const user = String(created.body.member.uuid)
    if (delivery === 'link') return { url: String(created.body.invite_url), user }
    assert.deepEqual([created.body.mailed_to, created.body.invite_url], [email, undefined])
    return { url: await mailedLink(world, email, 'invitation'), user }
  }

  return {
    invite,
    /** Invites an address, and accepts the link. */
    join: async (tenant: Tenant, email: string, delivery: 'link' | 'mail', password: string) => {
      const { url, user } = await invite(tenant, email, delivery)
      const joined = await acceptLink(world, url, { password })
      assert.equal(joined.status, 201, JSON.stringify(joined.body))
      return { person: joined.body.person, user, cookie: cookieOf(joined) }
    },
    enter: (email: string, password: string, more: object = {}) =>
      callAs(world, null, 'POST', '/console/session', { email, password, ...more }),
    isProved: async (person: string): Promise<boolean> =>
      (await db.maybe`select 1 from persons where id = ${person.slice(3)} and email_proved_at is not null`) !== null,
    /** Adds squatters of an address, who signed in before all others. @param tenant whose members they are; null: of none */
    addSquatters: async (email: string, tenant: Tenant | null, count: number): Promise<void> => {
      await db.run`
        insert into persons (id, email, email_key, name, password_hash, created_at)
        select gen_random_uuid(), ${email}, ${email}, 'Squatter', p.password_hash, '2020-01-01'
        from (select password_hash from persons limit 1) p, generate_series(1, ${count})`
      await db.run`delete from sessions where person_id in (select id from persons where email_key = ${email})`
      if (tenant)
        await db.run`
          insert into users (account_id, id, first_name, last_name, email, status, person_id, role)
          select ${tenant.id}, gen_random_uuid(), 'Per', 'Son', p.email, 'ACTIVE', p.id, 'agent'
          from persons p where p.email_key = ${email} and p.name = 'Squatter'`
    },
  }
}
