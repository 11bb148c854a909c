import { conflict, invalid, notFound, unprocessable } from '../../platform/http/problem.ts'

export const refusals = {
  severalPrices: (place: string) =>
    conflict(`There are several prices of ${place}: select one by effective_at (see prices list)`, 'several_prices').at(
      'effective_at',
    ),
  emptyCsv: () => unprocessable('The CSV has no lines below its head', 'invalid_csv'),
  unknownPrice: (place: string, at: string | null) =>
    notFound(`There is no price of ${place}${at === null ? '' : ` from ${at}`}`),
  duplicatePrice: (fault: string) => invalid(fault),
}
