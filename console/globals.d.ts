/** True in builds of `build.mjs --watch`. */
declare const DEV: boolean
/** True in builds that tests make of the pseudo-locale. */
declare const PSEUDO: boolean
/** Identifies the build; in the service worker only. */
declare const BUILD: string
/** Addresses of all assets of the build; in the service worker only. */
declare const ASSETS: readonly string[]
