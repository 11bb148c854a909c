/** What an API key can do for this page. It stays in the page's memory, and is for the sandbox: keys belong on servers. */
export const makeAccount = (key) => {
  const ask = async (method, path, body) => {
    const answer = await fetch(path, {
      method,
      headers: { 'x-user-api-key': key, ...(body ? { 'content-type': 'application/json' } : {}) },
      ...(body ? { body: JSON.stringify(body) } : {}),
    })
    const read = await answer.json()
    if (!answer.ok) throw new Error(read.error_message ?? `HTTP ${answer.status}`)
    return read
  }
  return {
    users: async () => (await ask('GET', '/open/users')).data.users,
    token: async (user) => (await ask('POST', '/open/sdk/access-token', { user_uuid: user, label: 'softphone' })).token,
    calls: async () => (await ask('GET', '/open/voip/call-history?results_per_page=8')).cdrs,
  }
}
