/**
 * Uses an API key for this page. The key stays in the page's memory, and is for the sandbox: keys belong on servers.
 */
export const makeAccount = (key) => {
  const ask = async (method, path, body) => {
    const answer = await fetch(path, {
      // The key alone: with the cookie of a session, the request would be refused.
      credentials: 'omit',
      method,
      headers: { 'x-user-api-key': key, ...(body ? { 'content-type': 'application/json' } : {}) },
      ...(body ? { body: JSON.stringify(body) } : {}),
    })
    const read = await answer.json()
    if (!answer.ok) throw new Error(read.error_message ?? `The server refused the request (${answer.status}).`)
    return read
  }
  return {
    users: async () => (await ask('GET', '/open/users')).data.users,
    token: async (user) => (await ask('POST', '/open/sdk/access-token', { user_uuid: user, label: 'softphone' })).token,
    /** Returns a number of the account, or null. */
    number: async () => (await ask('GET', '/open/voip/virtual-numbers')).numbers[0] ?? null,
    buyNumber: async () => {
      const { data } = await ask('GET', '/open/numbers/groups?country=GB&did_type=mobile')
      const bought = await ask('POST', '/open/numbers/purchase', { group_id: data.groups[0].id })
      return bought.data.numbers[0]
    },
    /** Lets calls of a number ring at a user's page. */
    ringAt: (number, user) => ask('PUT', `/open/voip/virtual-numbers/${number.uuid}`, { inbound_user_uuid: user }),
    /** Makes a sandbox handset call the number. */
    beCalled: (number) => ask('POST', '/sandbox/handsets/+447700900123/calls', { to: number.phone_number }),
    calls: async () => (await ask('GET', '/open/voip/call-history?results_per_page=8')).cdrs,
  }
}
