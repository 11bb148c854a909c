/** Moves to the next day in a direction. */
export const stepDay = (step: 1 | -1): void => {
  const box = document.querySelector<HTMLElement>('.thread-scroll')
  if (!box) return
  const top = box.getBoundingClientRect().top
  const days = [...box.querySelectorAll<HTMLElement>('.thread-day')]
  const distance = (day: HTMLElement) => day.getBoundingClientRect().top - top
  const found = step < 0 ? days.findLast((day) => distance(day) < -4) : days.find((day) => distance(day) > 24)
  if (found) found.scrollIntoView({ block: 'start' })
  else if (step > 0) box.scrollTop = 0
  else box.scrollTop = -box.scrollHeight
}
