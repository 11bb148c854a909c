/** True in builds of `build.mjs --watch`. */
declare const DEV: boolean
/** Identifies the build; in the service worker only. */
declare const BUILD: string
/** Addresses of all assets of the build; in the service worker only. */
declare const ASSETS: readonly string[]
