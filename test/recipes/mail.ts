import type { Recipes } from './recipe.ts'

export const mailRecipes: Recipes = {
  listMails: { ok: () => ({}) },
  testMail: { ok: () => ({ body: { to: 'ada@example.com' } }) },
}
