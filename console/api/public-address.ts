// The public address of the installation, which the server writes into the page. The voice line and passkeys are bound to it.

/** Returns the public address if this page was opened at another one; null at the public one. */
export const otherAddress = (): string | null => {
  const { address = '' } = document.documentElement.dataset
  return URL.canParse(address) && new URL(address).origin !== location.origin ? address : null
}
