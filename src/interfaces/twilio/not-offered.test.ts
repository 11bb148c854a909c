import assert from 'node:assert/strict'
import { test } from 'node:test'
import { notOfferedRefusal, rewriteCompatPath } from './not-offered.ts'

test('paths of the first version lose .json, and nothing else is rewritten', () => {
  assert.equal(
    rewriteCompatPath('/2010-04-01/Accounts/AC1/Messages.json?To=a.json'),
    '/2010-04-01/Accounts/AC1/Messages?To=a.json',
  )
  assert.equal(rewriteCompatPath('/2010-04-01/Accounts/AC1/Messages'), '/2010-04-01/Accounts/AC1/Messages')
  assert.equal(rewriteCompatPath('/openapi.json'), '/openapi.json')
  assert.equal(rewriteCompatPath('/2010-04-01/Accounts/AC1/Messages.xml?x=1'), '/2010-04-01/.xml?x=1')
})

test('a resource that is not offered names what to use instead', () => {
  const problem = notOfferedRefusal('/2010-04-01/Accounts/AC1/OutgoingCallerIds')
  assert.equal(problem.status, 404)
  assert.equal(problem.code, 'not_offered')
  assert.match(problem.message, /caller-ids/)
  assert.equal(notOfferedRefusal('/2010-04-01/Accounts/AC1/Nothing').code, 'not_found')
})
