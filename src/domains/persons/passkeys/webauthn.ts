/**
 * Loads the library with the first passkey. Measured: its packages for certificates take 0.3 s of processor time, which
 * each start of the platform would need.
 */
export const loadWebAuthn = () => import('@simplewebauthn/server')
