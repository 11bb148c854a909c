// Runs before the first paint, so that the choice of theme and density does not flash. Loaded as a classic script.

for (const name of ['theme', 'density']) {
  try {
    const choice = localStorage.getItem(`trunkline.${name}`)
    if (choice) document.documentElement.dataset[name] = choice
  } catch {
    // The browser forbids storage: the choice of the system applies.
  }
}
