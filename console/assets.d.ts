/** A picture that the build copies: the default export is its address. */
declare module '*.svg' {
  const address: string
  // biome-ignore lint/style/noDefaultExport: the bundler exports the address so.
  export default address
}
