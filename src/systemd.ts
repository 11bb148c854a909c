import { spawn } from 'node:child_process'

/** States that systemd is notified of: see sd_notify(3). */
type State = 'READY=1' | 'STOPPING=1'

export type NotifySystemd = (state: State) => Promise<void>

/** Longer than systemd-notify itself waits until systemd has read the notice (5 s). */
const patienceMs = 6_000

/**
 * Notifies systemd for a unit with `Type=notify`; without NOTIFY_SOCKET nothing happens. Node has no datagram sockets of the
 * Unix domain, so `systemd-notify` sends the notice.
 * @param environment NOTIFY_SOCKET is removed from it: a child that inherits the address could report a state of its own
 * @returns a function that never rejects: a failed notice is reported to `complain`
 */
export const makeNotifySystemd = (environment: NodeJS.ProcessEnv, complain: (text: string) => void): NotifySystemd => {
  const socket = environment.NOTIFY_SOCKET
  delete environment.NOTIFY_SOCKET
  if (!socket) return async () => {}
  const env = { PATH: environment.PATH ?? '/usr/bin:/bin', NOTIFY_SOCKET: socket }
  return (state) =>
    new Promise((resolve) => {
      const fail = (reason: string) => {
        complain(`systemd: failed to notify ${state} (${reason}). The unit with Type=notify needs systemd-notify.`)
        resolve()
      }
      const child = spawn('systemd-notify', [state], { env, stdio: 'ignore', timeout: patienceMs })
      child.on('error', ({ message }) => fail(message))
      child.on('exit', (code, signal) => (code === 0 ? resolve() : fail(`it ended with ${signal ?? code}`)))
    })
}
