// Adds a copy button to each block of code, and applies the chosen language of samples to all of them. Blocks are shown, and
// languages chosen, without this too.

const status = document.createElement('p')
status.className = 'unseen'
status.setAttribute('role', 'status')
document.body.append(status)

/** Copies by the selection where the page has no clipboard: over plain HTTP from another machine. */
const copyBySelection = (block) => {
  const selection = getSelection()
  selection.selectAllChildren(block)
  const done = document.execCommand('copy')
  selection.removeAllRanges()
  return done
}

const copy = async (block) => {
  try {
    await navigator.clipboard.writeText(block.textContent.trimEnd())
    return true
  } catch {
    return copyBySelection(block)
  }
}

const buttonOf = (block) => {
  const button = document.createElement('button')
  button.type = 'button'
  button.className = 'copy'
  button.textContent = 'Copy'
  button.setAttribute('aria-label', 'Copy the code')
  button.addEventListener('click', async () => {
    const text = (await copy(block)) ? 'Copied' : 'Not copied'
    button.textContent = text
    status.textContent = text
    setTimeout(() => {
      button.textContent = 'Copy'
      status.textContent = ''
    }, 2000)
  })
  return button
}

const addButtons = (parent) => {
  for (const block of parent.querySelectorAll('.code:not(:has(.copy))'))
    block.append(buttonOf(block.querySelector('code')))
}

const memory = 'trunkline-samples'

const storedLanguage = () => {
  try {
    return localStorage.getItem(memory)
  } catch {
    return null
  }
}

const choose = (language, parent = document) => {
  for (const input of parent.querySelectorAll('.samples input')) input.checked = input.value === language
}

// The blocks of a closed entry get their buttons when it opens: the reference has more than a thousand.
for (const details of document.querySelectorAll('details.entry'))
  details.addEventListener('toggle', () => addButtons(details))
for (const parent of document.querySelectorAll('article, details.entry[open]')) addButtons(parent)

const known = storedLanguage()
if (known !== null && document.querySelector(`.samples input[value="${CSS.escape(known)}"]`)) choose(known)

addEventListener('change', ({ target }) => {
  if (!target.matches('.samples input')) return
  choose(target.value)
  try {
    localStorage.setItem(memory, target.value)
  } catch {
    // A browser that stores nothing forgets the language.
  }
})
