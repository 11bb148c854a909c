const letters = { 2: 'ABC', 3: 'DEF', 4: 'GHI', 5: 'JKL', 6: 'MNO', 7: 'PQRS', 8: 'TUV', 9: 'WXYZ', 0: '+' }

/** Adds the twelve keys to a pad. @param press called with the key */
export const fillPad = (pad, press) => {
  for (const key of '123456789*0#') {
    const button = document.createElement('button')
    button.type = 'button'
    button.textContent = key
    const small = document.createElement('small')
    small.textContent = letters[key] ?? ''
    small.setAttribute('aria-hidden', 'true')
    button.append(small)
    button.addEventListener('click', () => press(key))
    pad.append(button)
  }
}
