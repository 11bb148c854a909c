import { earlyResponses } from './api/early.ts'

// Runs before the first paint, so that the choice of theme and density does not flash. Loaded as a classic script.

for (const name of ['theme', 'density']) {
  try {
    const choice = localStorage.getItem(`trunkline.${name}`)
    if (choice) document.documentElement.dataset[name] = choice
  } catch {
    // The browser forbids storage: the choice of the system applies.
  }
}

// The session is asked for while the program loads. Pages without a cookie do not ask: see `isSignedOut` of the server.
if (document.documentElement.dataset.session !== 'none') {
  const response = fetch('/console/session', { credentials: 'same-origin', cache: 'no-store' })
  // A failure is handled where the answer is read.
  response.catch(() => {})
  earlyResponses.set('/console/session', response)
}
