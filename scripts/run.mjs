// Runs a script of the checkout on the pinned Node, after making the checkout ready: the scripts of package.json, which
// must work without a POSIX shell. Plain JavaScript for the machine's own Node (20.19 or newer).
//
//   node scripts/run.mjs [--dev] [NODE OPTIONS] SCRIPT [ARGUMENTS]      --dev: with the packages of the tests

import { dirname } from 'node:path'
import { runNode } from '../bin/run-node.mjs'
import './ready.mjs'

const [, , ...args] = process.argv
runNode(dirname(import.meta.dirname), args[0] === '--dev' ? args.slice(1) : args)
