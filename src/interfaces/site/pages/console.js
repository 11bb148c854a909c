const show = (id, text) => {
  document.getElementById(id).textContent = text
}

const duration = (seconds) => {
  const parts = [
    [Math.floor(seconds / 86400), 'd'],
    [Math.floor(seconds / 3600) % 24, 'h'],
    [Math.floor(seconds / 60) % 60, 'min'],
    [seconds % 60, 's'],
  ].filter(([count]) => count > 0)
  return parts.length > 0
    ? parts
        .slice(0, 2)
        .map(([count, unit]) => `${count} ${unit}`)
        .join(' ')
    : '0 s'
}

const look = async () => {
  const state = document.getElementById('state')
  try {
    const [alive, ready] = await Promise.all([fetch('/healthz'), fetch('/readyz')])
    const { version, uptime_seconds } = await alive.json()
    const readiness = await ready.json()
    show('version', version)
    show('uptime', duration(uptime_seconds))
    show('database', ready.ok ? `up, ${readiness.migrations} migrations` : 'not ready')
    show('roles', ready.ok ? readiness.roles.join(', ') : '–')
    state.textContent = ready.ok ? 'Everything is running.' : readiness.error_message
    state.classList.toggle('bad', !ready.ok)
  } catch {
    state.textContent = 'The server cannot be reached.'
    state.classList.add('bad')
  }
}

look()
setInterval(look, 5000)
