// Words that say nothing about what a user wants. Short words are left out anyway.

/** Lower case; English, German, French and Spanish. */
export const STOP_WORDS: readonly string[] = `
about after again all also and any are because been before being but can cannot could did does doing don down each few for from had has
have having hello her here hers him his how into isn its itself just let like make more most not now off once only other our out over own
please same she should some such than thank thanks that the their them then there these they this those through too under until very was
were what when where which while who whom why will with would you your yours
aber alle als auch auf aus bei bin bitte das dass dem den der des die doch ein eine einem einen einer eines für habe haben hallo hat ich ihr
ihre ist kann kein keine können man mein meine mich mir mit nach nicht noch oder sein sich sie sind und uns von war was weil wenn wer wie
wir wird wurde zum zur über
avec bonjour cette comme dans des elle est être faire les leur mais merci mes mon nous par pas plus pour que qui sont sur une vous
como con del ella esta este gracias hola las los más muy para pero por que ser sin sobre son sus una uno usted
`
  .trim()
  .split(/\s+/)
