// Availability, as this browser stores it: whether calls ring.

const key = 'trunkline.away'

export const storedAway = (): boolean => {
  try {
    return localStorage.getItem(key) === 'true'
  } catch {
    return false
  }
}

export const storeAway = (isAway: boolean): void => {
  try {
    localStorage.setItem(key, String(isAway))
  } catch {
    // The browser forbids storage: the choice lasts until the page is closed.
  }
}
