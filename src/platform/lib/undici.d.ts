// The package declares types for its index only, not for this file.
declare module 'undici/lib/dispatcher/client.js' {
  import { Client } from 'undici'
  // biome-ignore lint/style/noDefaultExport: a CommonJS module has a default export here
  export default Client
}
