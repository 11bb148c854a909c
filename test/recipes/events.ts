import type { Recipes } from './recipe.ts'

export const eventRecipes: Recipes = {
  triggerEvent: {
    ok: () => ({ params: { event_name: 'msgapp.message.received' } }),
    invalid: () => ({ params: { event_name: 'msgapp.message.recieved' } }),
  },
}
