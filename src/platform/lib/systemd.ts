import { spawn } from 'node:child_process'

/** States of sd_notify(3). */
type SystemdState = 'READY=1' | 'STOPPING=1'

export type NotifySystemd = (state: SystemdState) => Promise<void>

/** Longer than the 5 s that systemd-notify itself waits for systemd. */
const notifyTimeoutMs = 6_000

/**
 * Notifies systemd for a unit with `Type=notify`; does nothing without NOTIFY_SOCKET. Node has no datagram sockets of
 * the Unix domain, so `systemd-notify` sends the notice.
 * @param environment NOTIFY_SOCKET is removed from it, as a child that inherits it could report a state of its own
 * @returns a function that never rejects and reports a failed notice to `complain`
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
      const child = spawn('systemd-notify', [state], { env, stdio: 'ignore', timeout: notifyTimeoutMs })
      child.on('error', ({ message }) => fail(message))
      child.on('exit', (code, signal) => (code === 0 ? resolve() : fail(`it ended with ${signal ?? code}`)))
    })
}
