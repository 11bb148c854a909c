import { conflict, notFound, unprocessable } from '../../../platform/http/problem.ts'

export const refusals = {
  unknownView: (view: string) => notFound(`View ${view} does not exist`).at('view_uuid', 'uuids'),
  badFilter: (name: string) =>
    unprocessable(`query.${name} is not a filter of GET /open/conversations, or has a wrong value`, 'bad_filter').at(
      'query',
    ),
  tooManyViews: (limit: number) => conflict(`There are ${limit} views already: delete one`, 'too_many_views'),
}
