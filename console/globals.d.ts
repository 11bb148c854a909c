/** True in builds of `build.mjs --watch`. */
declare const DEV: boolean
/** True in builds that tests make of the pseudo-locale. */
declare const PSEUDO: boolean
/** Addresses of the styles that are loaded with their pages, by folder. */
declare const STYLES: Readonly<Record<string, string>>
/** Identifies the build; in the service worker only. */
declare const BUILD: string
/** Names of all scripts, styles and images of the build; in the service worker only. */
declare const ASSETS: readonly string[]
