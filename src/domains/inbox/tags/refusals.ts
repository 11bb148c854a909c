import { conflict, notFound } from '../../../platform/http/problem.ts'

export const refusals = {
  unknownTag: (tag: string) => notFound(`Tag ${tag} does not exist`).at('tag_uuid', 'tag'),
  tagExists: (name: string) => conflict(`There is a tag ${name} already`, 'tag_exists').at('name'),
  tooManyTags: (limit: number) => conflict(`There are ${limit} tags already: delete one`, 'too_many_tags'),
  tooManyOnOne: (limit: number) => conflict(`A conversation has at most ${limit} tags: remove one`, 'too_many_tags'),
}
