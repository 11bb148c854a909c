// The package declares what its index gives, not the file that this comes from.
declare module 'undici/lib/dispatcher/client.js' {
  import { Client } from 'undici'
  // biome-ignore lint/style/noDefaultExport: that is how a CommonJS module looks from here
  export default Client
}
