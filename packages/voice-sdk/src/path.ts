/** True while nothing gets through: the network that carried the call is gone. */
export const isBroken = ({ iceConnectionState }: RTCPeerConnection): boolean =>
  iceConnectionState === 'disconnected' || iceConnectionState === 'failed'

/**
 * Tells when the way of a call's sound breaks. JsSIP ends a call whose ICE has failed; one that was connected may go on over another
 * network (RFC 8445, 2.4), and it is the server that gives it up: after a minute of silence.
 */
export const watchPath = (connection: RTCPeerConnection, broken: () => void): void => {
  let wasConnected = false
  const look = (event: Event) => {
    const { iceConnectionState: state } = connection
    wasConnected ||= state === 'connected' || state === 'completed'
    if (!wasConnected || !isBroken(connection)) return
    if (state === 'failed') event.stopImmediatePropagation()
    broken()
  }
  // Captured, it comes before JsSIP's own listener.
  connection.addEventListener('iceconnectionstatechange', look, { capture: true })
}
