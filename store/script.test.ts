import t from 'tap'
import { readScript } from './script.ts'

t.test('one statement, whose comments may hold anything', async t => {
  t.strictSame(readScript("-- a; b;\n-- c;\nCREATE TABLE x (a String DEFAULT ';')\n-- d\nENGINE = Memory\n"), {
    statements: ["CREATE TABLE x (a String DEFAULT ';')\nENGINE = Memory"],
    unless: undefined,
    once: undefined,
    still: false,
  })
})

t.test('several statements, and what is asked before them', async t => {
  const text =
    '-- Why.\n-- @still\n-- @unless SELECT 1\n-- @once SELECT 2\nDROP TABLE a;\nCREATE TABLE a\n(b UInt8); \nDROP TABLE c;\n'
  t.strictSame(readScript(text), {
    statements: ['DROP TABLE a', 'CREATE TABLE a\n(b UInt8)', 'DROP TABLE c'],
    unless: 'SELECT 1',
    once: 'SELECT 2',
    still: true,
  })
})
