import type { Recipes } from './recipe.ts'

export const requestRecipes: Recipes = {
  listRequests: { ok: () => ({ query: { results_per_page: 2 } }) },
}
