import type { Recipes } from './recipe.ts'
import { type Scene, shortWav } from './scene.ts'

const params = async (scene: Scene) => ({ params: { clip_uuid: await scene.clip() } })

export const clipRecipes: Recipes = {
  uploadClip: {
    ok: ({ mark }) => ({ query: { name: mark }, body: shortWav }),
    invalid: ({ mark }) => ({ query: { name: mark }, body: 'neither WAV nor MP3' }),
    conflict: async (scene) => {
      await scene.world.db.run`
        insert into call_clips (account_id, id, name, media_id, media_type, size)
        select ${scene.tenant.id}, gen_random_uuid(), 'filler', gen_random_uuid(), 'audio/mpeg', 1
        from generate_series(1, 1000)`
      return { query: { name: scene.mark }, body: shortWav }
    },
  },
  listClips: { ok: async (scene) => scene.clip().then(() => ({ query: { results_per_page: 5 } })) },
  getClip: { ok: params },
  deleteClip: { ok: params },
}
