/** Towns of England that have number groups, by region (Office for National Statistics, regions as of 2023). */
const towns: Record<string, string> = {
  'North East England': 'Darlington|Durham|Hartlepool|Middlesbrough|Newcastle upon Tyne|Sunderland',
  'North West England':
    'Blackburn|Blackpool|Bolton|Burnley|Carlisle|Chester|Crewe|Liverpool|Manchester|Preston|Rochdale|Southport|' +
    'St Helens|Warrington|Wigan',
  'Yorkshire and The Humber':
    'Barnsley|Bradford|Doncaster|Grimsby|Halifax|Harrogate|Huddersfield|Kingston upon Hull|Leeds|Rotherham|Scunthorpe|' +
    'Sheffield|Wakefield|York',
  'East Midlands': 'Chesterfield|Derby|Leicester|Lincoln|Mansfield|Northampton|Nottingham',
  'West Midlands':
    'Birmingham|Cannock|Coventry|Dudley|Redditch|Rugby|Shrewsbury|Stafford|Stoke-on-Trent|Tamworth|Telford|Walsall|' +
    'Wolverhampton|Worcester',
  'East of England':
    'Basildon|Bedford|Cambridge|Chelmsford|Colchester|Hemel Hempstead|Ipswich|Lowestoft|Luton|Norwich|Peterborough|' +
    'Southend-on-Sea|St Albans|Stevenage|Watford',
  'Greater London': 'London|Romford',
  'South East England':
    'Aylesbury|Basingstoke|Bracknell|Brighton|Crawley|Eastbourne|Folkestone|Guildford|Hastings|High Wycombe|Maidenhead|' +
    'Maidstone|' +
    'Milton Keynes|Oxford|Portsmouth|Reading|Slough|Southampton|Worthing',
  'South West England':
    'Bath|Bournemouth|Bristol|Cheltenham|Exeter|Gloucester|Plymouth|Swindon|Torquay|Weston-super-Mare',
}

export const englishTowns = new Map(
  Object.entries(towns).flatMap(([region, names]) => names.split('|').map((name): [string, string] => [name, region])),
)
